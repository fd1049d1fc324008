package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// OperatorPost sends body to path of the admin listener at base, with the operator's token,
// and decodes the response into a value, unless that is nil. A status of 300 or above is an
// error.
func OperatorPost(ctx context.Context, base, token, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, "POST", base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		return errors.Join(err, fmt.Errorf("POST %s: %d %s", path, resp.StatusCode, text))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
