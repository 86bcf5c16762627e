"""Search question answering: questions over an indexed corpus or a retrieval server."""
