"""Features that wrappers put beside an encoder's vectors (see ``encoders.wrappers``)."""
