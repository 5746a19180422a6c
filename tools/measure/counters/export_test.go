package counters

// LowerText lowers the bound of what is unpacked, and returns what puts it back.
func LowerText(bytes int64) (restore func()) {
	was := maxText
	maxText = bytes
	return func() { maxText = was }
}
