"""What the configuration of analyzers can make them read and run."""
