"""The tool: finds, fixes and reports. What it looks for is the knowledge in `codemods`."""

__version__ = "0.1.0"
