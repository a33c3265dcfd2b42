"""Language server: findings, proven fixes and dismissals in editors."""
