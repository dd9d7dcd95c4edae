//! What may be opened beneath a folder, and what may not.


