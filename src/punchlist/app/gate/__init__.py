"""What a repository itself says about which findings count: settings by folder, baseline,
dismissals.
"""
