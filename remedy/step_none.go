package remedy

// These change no file or folder by name.

func (Sysctl) target() string        { return "" }
func (Sysfs) target() string         { return "" }
func (Unit) target() string          { return "" }
func (LinkMTU) target() string       { return "" }
func (SolicitRouter) target() string { return "" }
func (Check) target() string         { return "" }
func (Command) target() string       { return "" }
func (MDReadd) target() string       { return "" }
func (MDBitmap) target() string      { return "" }
