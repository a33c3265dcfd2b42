"""Fix sessions over HTTP: clarify, plan, fix."""
