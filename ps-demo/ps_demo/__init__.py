"""ps-demo: a small embedding parameter server with a PyTorch trainer, to be profiled."""
