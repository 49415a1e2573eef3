"""How far each fault moves a clip, relative to its distance to other clips (Eq. 4)."""
