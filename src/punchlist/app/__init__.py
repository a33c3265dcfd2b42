"""The use cases every surface calls, and the wiring behind them."""
