"""The paper's claims, measured again on any panels: what it says, what comes out, whether it holds, and why."""
