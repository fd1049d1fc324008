// A question that the user answers before something large happens.

interface Question {
  title: string
  text: string
  yes: string
  does: () => void
}

export const ask = $state<{ question: Question | undefined }>({ question: undefined })
