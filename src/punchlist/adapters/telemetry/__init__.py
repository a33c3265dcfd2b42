"""What other systems may know of runs, by OpenTelemetry; only imported where it is asked for."""
