// What an operator is about to do: a dialog shows it and asks for the reason.

export interface Field {
  name: string
  label: string
  value?: string
  hint?: string
  options?: readonly string[]
  // reads returns the value for the request, undefined if the text is not valid.
  reads?: (text: string) => string | undefined
  wrong?: string
}

export interface OperatorAction {
  title: string
  text: string
  yes: string
  fields?: Field[]
  // does sends the request and returns what to say once it is done.
  does: (values: Record<string, string>, reason: string) => Promise<Done>
}

export interface Done {
  text: string
  secret?: { what: string; value: string } // shown once
}

export const actionDialog = $state<{ action: OperatorAction | undefined; secret: Done['secret'] | undefined; message: string }>({ action: undefined, secret: undefined, message: '' })

export const MAX_REASON = 256 // bytes
