"""Log from rank 0 only."""
import logging

import torch.distributed as dist

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)


def rank_log(message):
    if dist.get_rank() == 0:
        logging.getLogger("tp").info(message)
