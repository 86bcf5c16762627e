"""Environments that run elsewhere: our HTTP protocol with its server, and OpenEnv servers over their WebSocket."""
