"""How patches are judged: baselines, rechecks, examinations, witnesses and trials."""
