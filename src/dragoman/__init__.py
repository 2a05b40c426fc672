"""dragoman: an interpreter between revisions of the Model Context Protocol."""

__version__ = "0.1.0"
