"""The dashboard: what people look at, and where they answer and decide."""
