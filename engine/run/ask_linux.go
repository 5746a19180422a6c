package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle/host"
	"fettle/host/confine"
)

// Ask puts a question about this host to one of Answers, in a confined child. There is no other
// way: without a child nothing is looked at, because the question may come from outside.
func (e Engine) Ask(ctx context.Context, name string, question, answer any) error {
	w := work{Ask: name}
	var err error
	if w.Question, err = json.Marshal(question); err != nil {
		return err
	}
	job := confine.Job{Messages: 1}
	if job.Host, err = confine.Live(); err != nil {
		return err
	}
	if job.Body, err = json.Marshal(w); err != nil {
		return err
	}
	child, err := confine.Start(ctx, job)
	if err != nil {
		return fmt.Errorf("looking at this host: no confined process: %w", err)
	}
	defer child.Close()
	said, err := receive(ctx, child)
	switch {
	case err != nil:
		return fmt.Errorf("looking at this host: %s", host.Reason(err))
	case said.Failed != "":
		return errors.New(said.Failed)
	}
	return json.Unmarshal(said.Answer, answer)
}

// answer is what the confined child does when it is asked.
func answer(parent *confine.Parent, w work, answers Answers) error {
	look := answers[w.Ask]
	if look == nil {
		return fmt.Errorf("the confined child has no answer to %q", w.Ask)
	}
	if _, err := confine.Self(confine.Rules{}); err != nil {
		return err
	}
	src, err := w.open(parent)
	if err != nil {
		return say(parent, saying{Failed: err.Error()})
	}
	made, err := look(context.Background(), host.New(src), w.Question)
	if err != nil {
		return say(parent, saying{Failed: host.Reason(err)})
	}
	b, err := json.Marshal(made)
	if err != nil {
		return err
	}
	return say(parent, saying{Answer: b})
}
