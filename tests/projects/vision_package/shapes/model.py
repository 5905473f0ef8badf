import torch.nn as nn


class ShapeNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3), nn.ReLU())
        self.classifier = nn.Linear(8 * 6 * 6, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))
