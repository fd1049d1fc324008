// A question that the user answers before something large happens.

interface Question {
  title: string
  text: string
  yes: string
  does: () => void
}

export const confirmation = $state<{ question: Question | undefined }>({ question: undefined })
