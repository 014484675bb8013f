"""Garments made to fit any body, worn in motion, and measured."""
