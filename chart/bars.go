package chart

// Bars is one horizontal bar per name, in order from the top.
type Bars struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	X     string `json:"x"` // axis with its unit: "seconds"
	Bars  []Bar  `json:"bars"`
}

// Bar is a value, at least 0, and how far single readings of it lay apart.
type Bar struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
