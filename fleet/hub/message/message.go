// Package message defines the messages between agents and the hub: versioned,
// bounded, JSON compressed with zstd. docs/schema/agent-message-1.schema.json
// and docs/schema/agent-ask-1.schema.json describe them.
package message

import (
	"time"

	"fettle/engine/trap"
	"fettle/internal/build"
	"fettle/internal/jsondoc"
	"fettle/report"
)

// Version is that of the messages. It grows when a field is removed or changes
// its meaning; a hub takes the versions up to its own.
const Version = 1

// Kind says what a message holds.
type Kind string

const (
	Whole  Kind = "report" // all that a run found
	Change Kind = "change" // the traps that say something else than the message before
	Beat   Kind = "beat"   // the agent is there, and no more
)

// Formats of the documents.
const (
	Format    = "fettle-agent-message"
	AskFormat = "fettle-agent-ask"
)

// Message is what an agent sends.
type Message struct {
	jsondoc.Envelope
	Kind  Kind   `json:"kind"`
	Agent string `json:"agent"` // the name that the hub gave it
	// Instance is drawn anew whenever the agent starts; Seq counts its messages
	// from 1 on. Both together name a message for ever.
	Instance string `json:"instance"`
	Seq      int64  `json:"seq"`
	// Sent is the host's clock when the message was made.
	Sent time.Time `json:"sent"`
	Why  string    `json:"why,omitempty"` // start, schedule, ask, or the event's name
	Ask  string    `json:"ask,omitempty"` // which question this answers

	// Digest names the state of the host that this message leads to, Base the
	// one that a change begins with. Only the agent knows how they come about.
	Digest string `json:"digest,omitempty"`
	Base   string `json:"base,omitempty"`

	Run  *Run  `json:"run,omitempty"`  // report and change
	Self *Self `json:"self,omitempty"` // beat, and each report
}

// Run is what a run of fettle check said, or the part of it that changed.
type Run struct {
	Meta    *report.Meta      `json:"meta,omitempty"` // of a change: if it differs
	Traps   []report.TrapInfo `json:"traps,omitempty"`
	Results []Result          `json:"results,omitempty"`
	Gone    []string          `json:"gone,omitempty"` // of a change: traps that are checked no more
	Took    time.Duration     `json:"took_ns,omitempty"`
	// Failed says why there is no run: fettle check ended otherwise than it should.
	Failed string `json:"failed,omitempty"`
}

// Result is what one trap's check said: the outcomes that tell something, and
// how many others there were.
type Result struct {
	Trap          string         `json:"trap"`
	Outcomes      []trap.Outcome `json:"outcomes,omitempty"` // found and unknown
	Clear         int            `json:"clear,omitempty"`
	NotApplicable int            `json:"not_applicable,omitempty"`
}

// Self is what an agent says of itself.
type Self struct {
	Machine string        `json:"machine,omitempty"` // a hash of machine-id, for this purpose alone
	Every   time.Duration `json:"every_ns,omitempty"`
	Waiting int           `json:"waiting,omitempty"` // messages that are kept until the hub can be reached
	Dropped int64         `json:"dropped,omitempty"` // and those that had no place
	Refused int64         `json:"refused,omitempty"` // questions beyond the agent's own limit
}

// Ask is what the hub asks of agents. There is nothing to ask but to look.
type Ask struct {
	jsondoc.Envelope
	ID    string `json:"id"`
	Whole bool   `json:"whole,omitempty"` // the answer is to be a whole report
	// Within is the time over which the answers of many agents are spread.
	Within time.Duration `json:"within_ns,omitempty"`
}

// NewAsk is a question.
func NewAsk(id string, whole bool, within time.Duration) *Ask {
	return &Ask{jsondoc.Envelope{Format: AskFormat, Schema: Version, Fettle: build.Version()}, id, whole, within}
}

// New is a message without its content.
func New(kind Kind) *Message {
	return &Message{Envelope: jsondoc.Envelope{Format: Format, Schema: Version, Fettle: build.Version()}, Kind: kind}
}

// Ack is the hub's answer to messages, after it has committed them: what is up
// to Seq is kept for ever, and needs to be sent no more.
type Ack struct {
	Instance string `json:"instance"`
	Seq      int64  `json:"seq"`
	Again    bool   `json:"again,omitempty"`   // messages after Seq did not come: send them again
	Whole    bool   `json:"whole,omitempty"`   // the hub lacks what the last change builds upon
	Refused  string `json:"refused,omitempty"` // why the message Seq itself was not taken
}
