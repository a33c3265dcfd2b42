"""The scripted agent, its script format and its placeholders."""
