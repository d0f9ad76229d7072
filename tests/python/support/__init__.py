"""What the suites share: the command under test, telemetry made by hand, and other people's readers."""
