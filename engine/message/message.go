// Package message recognises what programs print: each trap lists its messages as
// templates with typed placeholders, and one matcher finds them in a log. Whether a
// line is one of them depends on that line alone. `fettle why` and the checks that
// read the log use the same lists.
package message

// Message is one entry of a trap's list: what a program prints.
type Message struct {
	// Text is the template: words as printed, and placeholders such as <disk>,
	// each of which takes only what its type allows. It may stand anywhere in a
	// line, whole words only.
	Text string `yaml:"text" json:"text"`
	// Says is who prints it: "kernel", "systemd", or a program's name.
	Says string `yaml:"says" json:"says"`
	// Since is from which version on the words hold, and where they were read.
	Since string `yaml:"since" json:"since"`
	// About sorts the messages of one trap for its check.
	About string `yaml:"about" json:"about,omitempty"`
	// Perhaps: other causes print it as often.
	Perhaps bool `yaml:"perhaps" json:"perhaps,omitempty"`
	// Harmless: a line that it matches is no sign of the trap, whatever else matches.
	Harmless bool `yaml:"harmless" json:"harmless,omitempty"`
}

// Hit is a message found in a line.
type Hit struct {
	Index  int // of the template in its Set
	Fields map[string]string
	// Whole: the line says nothing else.
	Whole bool
}

// Field is the first of the placeholders of these types that stands for something.
func (h *Hit) Field(types ...string) string {
	for _, t := range types {
		if v := h.Fields[t]; v != "" {
			return v
		}
	}
	return ""
}
