"""Double DQN for Catch.

    python dqn.py --episodes 200 --gpu 0
"""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils import clip_grad_norm_

from environment import Catch
from memory import ReplayMemory

parser = argparse.ArgumentParser(description="DQN")
parser.add_argument("--seed", type=int, default=123)
parser.add_argument("--disable-cuda", action="store_true", help="Disable CUDA")
parser.add_argument("--gpu", type=int, default=0)
parser.add_argument("--episodes", type=int, default=50)
parser.add_argument("--history-length", type=int, default=4, metavar="T", help="Number of consecutive states processed")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--target-update", type=int, default=20)
parser.add_argument("--discount", type=float, default=0.95)
parser.add_argument("--learning-rate", type=float, default=1e-3)
args = parser.parse_args()

random.seed(args.seed)
np.random.seed(args.seed)
seed = np.random.randint(1, 10000)
torch.manual_seed(seed)
if torch.cuda.is_available() and not args.disable_cuda:
    args.device = torch.device("cuda:%d" % args.gpu)
    torch.cuda.manual_seed(seed)
    torch.backends.cudnn.enabled = True
else:
    args.device = torch.device("cpu")


class DQN(nn.Module):
    def __init__(self, history, actions):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(history, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU())
        self.value, self.advantage = nn.Linear(144, 1), nn.Linear(144, actions)

    def forward(self, x):
        x = self.convs(x).flatten(1)
        a = self.advantage(x)
        return self.value(x) + a - a.mean(1, keepdim=True)


class Agent:
    def __init__(self, args, env):
        self.args = args
        self.action_space = env.actions
        self.online_net = DQN(args.history_length, env.actions).to(device=args.device)
        self.target_net = DQN(args.history_length, env.actions).to(device=args.device)
        self.update_target_net()
        for param in self.target_net.parameters():
            param.requires_grad = False
        self.optimiser = optim.Adam(self.online_net.parameters(), lr=args.learning_rate)

    def act(self, state, epsilon):
        if np.random.random() < epsilon:
            return np.random.randint(0, self.action_space)
        with torch.no_grad():
            return self.online_net(state.unsqueeze(0)).argmax(1).item()

    def learn(self, mem):
        states, actions, returns, next_states, nonterminals = mem.sample(self.args.batch_size)
        q = self.online_net(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.online_net(next_states).argmax(1, keepdim=True)
            target = returns + nonterminals * self.args.discount * self.target_net(next_states).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(q, target, reduction="none")
        self.online_net.zero_grad()
        loss.mean().backward()
        clip_grad_norm_(self.online_net.parameters(), 10.0)
        self.optimiser.step()
        return loss.detach().mean().item()

    def update_target_net(self):
        self.target_net.load_state_dict(self.online_net.state_dict())


def main():
    env = Catch(args)
    dqn = Agent(args, env)
    mem = ReplayMemory(256, args.history_length, args.seed)
    T, losses = 0, []
    for episode in range(args.episodes):
        state, done, score = env.reset(), False, 0.0
        while not done:
            action = dqn.act(state, max(0.1, 1 - T / 100))
            next_state, reward, done = env.step(action)
            mem.append(state, action, reward, next_state, done)
            state, score, T = next_state, score + reward, T + 1
            if len(mem) >= args.batch_size:
                losses.append(dqn.learn(mem))
            if T % args.target_update == 0:
                dqn.update_target_net()
        recent = np.mean(losses[-20:]) if losses else float("nan")
        print(f"episode {episode}: score {score:+.0f}, loss {recent:.6f}")


if __name__ == "__main__":
    main()
