"""Who writes answers. `base` has the contract; the registry is settings.AI_PROVIDERS."""
