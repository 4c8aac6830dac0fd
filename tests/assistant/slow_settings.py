"""The product's settings with one more provider, as an operator would add it."""

from kamerplanter.settings import *  # noqa: F403
from kamerplanter.settings import AI_PROVIDERS as PRODUCT_PROVIDERS

AI_PROVIDERS = {**PRODUCT_PROVIDERS, "slow": "tests.assistant.slow_provider.Slow"}
AI_DEFAULT_PROVIDER = "slow"
