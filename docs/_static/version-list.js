window.pliantVersions = []; // filled by tools/publish_docs.py
