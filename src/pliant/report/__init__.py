"""Reports of a run: replay in the browser, pictures, contact sheets, tables."""
