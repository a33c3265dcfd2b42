"""The roles that agents play: prompts in, typed answers out."""
