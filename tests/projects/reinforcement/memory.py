"""Replay memory: frames are kept as bytes on the CPU, batches go to the GPU."""
import numpy as np
import torch


class ReplayMemory:
    def __init__(self, capacity, window, seed):
        self.capacity, self.position, self.full = capacity, 0, False
        self.states = torch.zeros(capacity, window, 12, 12, dtype=torch.uint8)
        self.next_states = torch.zeros_like(self.states)
        self.actions = torch.zeros(capacity, dtype=torch.int64)
        self.rewards = torch.zeros(capacity)
        self.nonterminals = torch.zeros(capacity)
        self.rng = np.random.RandomState(seed)

    def __len__(self):
        return self.capacity if self.full else self.position

    def append(self, state, action, reward, next_state, terminal):
        i = self.position
        self.states[i] = state.mul(255).to(dtype=torch.uint8, device=torch.device("cpu"))
        self.next_states[i] = next_state.mul(255).byte().cpu()
        self.actions[i], self.rewards[i], self.nonterminals[i] = action, reward, 0.0 if terminal else 1.0
        self.position = (i + 1) % self.capacity
        self.full = self.full or self.position == 0

    def sample(self, batch_size):
        idxs = torch.from_numpy(self.rng.randint(0, len(self), batch_size))
        states = self.states[idxs].cuda().float().div_(255)
        next_states = self.next_states[idxs].cuda().float().div_(255)
        return states, self.actions[idxs].cuda(), self.rewards[idxs].cuda(), next_states, self.nonterminals[idxs].cuda()
