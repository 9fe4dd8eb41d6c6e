"""What commands share: options, output (where to begin), tables, progress, and the stores without the agent."""
