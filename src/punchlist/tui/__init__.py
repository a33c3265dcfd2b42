"""Terminal view: show, follow and steer a run with the keyboard."""
