package schemas_test

import (
	"fmt"

	"duplex/schemas"
)

// A signature covers the timestamp, the method, the request target and the body.
func ExampleSign() {
	secret, _ := schemas.ParseSecret("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	body := []byte(`{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4700,"qty":10}`)

	signature := schemas.Sign(secret, "1700000000000", "POST", "/v1/portfolio/orders", body)

	fmt.Println(len(signature), "characters")
	fmt.Println(schemas.Verify(secret, "1700000000000", "POST", "/v1/portfolio/orders", body, signature))
	fmt.Println(schemas.Verify(secret, "1700000000000", "POST", "/v1/portfolio/orders", body[:10], signature))
	// Output:
	// 44 characters
	// true
	// false
}
