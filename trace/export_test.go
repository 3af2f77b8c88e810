package trace

const DefaultQueue = defaultQueue
