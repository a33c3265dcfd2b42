"""A run in the terminal: looked at, followed and steered with the keyboard."""
