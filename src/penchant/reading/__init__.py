"""From a file as a laboratory has it to choices, play or offers."""
