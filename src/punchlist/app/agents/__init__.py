"""What users set up for agents: their logins, and examples of agents of their own."""
