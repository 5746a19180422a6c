package remedy

// action is what every kind of step does; the engine knows no kind.
type action interface {
	Step
	commands() [][]string
}
