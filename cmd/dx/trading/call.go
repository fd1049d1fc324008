package trading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"duplex/cmd/dx/cli"
)

// Call is `dx call METHOD PATH [BODY]`, which sends one signed request.
type Call struct {
	cli.ClientFlags
	Method string `arg:"" help:"GET, POST, PUT or DELETE."`
	Path   string `arg:"" help:"Path with its query, such as /v1/markets?status=trading."`
	Body   string `arg:"" optional:"" help:"JSON body. With - it is read from standard input."`
}

func (c *Call) Help() string {
	return `Prints the body of the response. If the status is not 2xx, prints it to standard error and exits with code 1.

Examples:
  dx call GET /v1/portfolio/balance
  dx call POST /v1/portfolio/orders '{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":10}'
  dx call DELETE /v1/portfolio/orders/batch - < ids.json
  dx call --as reader GET '/v1/markets?status=trading'`
}

func (c *Call) Run(ctx context.Context, out io.Writer) error {
	if !strings.HasPrefix(c.Path, "/") {
		return cli.BadFlag("path", errors.New("must begin with /, such as /v1/time"))
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	body := []byte(c.Body)
	if c.Body == "-" {
		if body, err = io.ReadAll(os.Stdin); err != nil {
			return err
		}
	}
	status, _, answer, err := cl.Call(ctx, strings.ToUpper(c.Method), c.Path, body)
	if err != nil {
		return err
	}
	if status >= 300 {
		return fmt.Errorf("%d %s", status, answer)
	}
	return cli.PrintJSON(out, answer)
}
