package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"fettle/internal/httpget"
)

// pageLimit bounds one conversation with a mirror.
const pageLimit = 20 * time.Second

func late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (over %s)", ErrTimeout, pageLimit)
	}
	return err
}

func readPage(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	res, err := httpget.Get(ctx, url, httpget.Options{Limit: ReadLimit, Stall: pageLimit / 2})
	if err != nil {
		return nil, late(err)
	}
	defer res.Body.Close()
	p := Page{URL: res.URL, Status: res.Status}
	if p.Status == 200 {
		if p.Body, err = io.ReadAll(res.Body); err != nil {
			return nil, late(err)
		}
	}
	return json.Marshal(p)
}
