"""A corpus of sentences from a small grammar, as one long tensor of word ids."""
import random

import torch


class Dictionary(object):
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class Corpus(object):
    def __init__(self, seed=3):
        self.dictionary = Dictionary()
        self.random = random.Random(seed)
        self.train = self.tokenize(400)
        self.valid = self.tokenize(60)

    def sentence(self):
        pick = self.random.choice
        subject = ["the", pick(["red", "old", "tall"]), pick(["fox", "tree", "king"])]
        verb = [pick(["sees", "likes", "fears"])]
        return subject + verb + ["a", pick(["house", "river", "dog"]), "<eos>"]

    def tokenize(self, sentences):
        ids = []
        for _ in range(sentences):
            ids += [self.dictionary.add_word(word) for word in self.sentence()]
        return torch.LongTensor(ids)
