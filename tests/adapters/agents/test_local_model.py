"""The recipe for a model on the user's own machine, as it stands in the guide, with a scripted model in its place."""

import tomllib
from pathlib import Path

from calculator import FIXED, SCHEMA, fixing

from punchlist.adapters.agents.dialects.qwen import Qwen

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "agents.md"


def test_the_settings_of_the_guide_reach_a_model_on_loopback_and_fix(bench, scripted):
    recipe = GUIDE.read_text("utf-8").split("## A model on your own machine")[1]
    told = tomllib.loads(recipe.split("```toml\n")[1].split("```")[0])
    assert told["agents"]["use"] == ["local"]
    settings = {name.replace("-", "_"): value for name, value in told["agent"]["local"].items()}
    assert settings.pop("kind") == Qwen.program
    assert settings["env"]["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
    real = bench("qwen", Qwen())
    model = scripted(*fixing(real.tree))
    env = {**settings["env"], "OPENAI_BASE_URL": f"{model.url}/v1"}
    reply = real.ask(writes=True, schema=SCHEMA, settings={**settings, "env": env})
    assert not reply.failed, reply.failed
    assert real.calc == FIXED
    assert model.requests
