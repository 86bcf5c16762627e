"""What happens once although it is requested twice: requests of programs with a key, and forms with a token."""
