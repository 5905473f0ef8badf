"""A ball falls down a 12x12 screen; the paddle at the bottom has to catch it."""
import random
from collections import deque

import torch


class Catch:
    def __init__(self, args):
        self.device = args.device
        self.random = random.Random(args.seed)
        self.window = args.history_length
        self.state_buffer = deque([], maxlen=args.history_length)
        self.actions = 3

    def _frame(self):
        screen = torch.zeros(12, 12, dtype=torch.uint8)
        screen[self.row, self.column] = 255
        screen[11, max(0, self.paddle - 1):self.paddle + 2] = 128
        return screen.to(dtype=torch.float32, device=self.device).div_(255)

    def _reset_buffer(self):
        for _ in range(self.window):
            self.state_buffer.append(torch.zeros(12, 12, device=self.device))

    def reset(self):
        self._reset_buffer()
        self.row, self.column, self.paddle = 0, self.random.randrange(12), 6
        self.state_buffer.append(self._frame())
        return torch.stack(list(self.state_buffer), 0)

    def step(self, action):
        self.paddle = min(11, max(0, self.paddle + action - 1))
        self.row += 1
        self.state_buffer.append(self._frame())
        done = self.row == 11
        reward = (1.0 if abs(self.column - self.paddle) <= 1 else -1.0) if done else 0.0
        return torch.stack(list(self.state_buffer), 0), reward, done
