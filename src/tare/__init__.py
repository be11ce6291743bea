"""tare: what does this layer cost on my request path, and is the difference real?"""
