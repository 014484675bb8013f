"""What a run looks like: replay in a browser, pictures, contact sheets."""
